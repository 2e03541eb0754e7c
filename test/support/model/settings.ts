/** Number of runs of the model, and the seed to reproduce them; both can be set by environment variables. */
export const runs = Number(process.env['MODEL_RUNS'] ?? 400);
export const seed = Number(process.env['MODEL_SEED'] ?? Math.floor(Math.random() * 1_000_000));
