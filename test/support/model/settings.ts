/** How many runs of the model, and the seed that makes them the same again; both can be set by the environment. */
export const runs = Number(process.env['MODEL_RUNS'] ?? 1_000);
export const seed = Number(process.env['MODEL_SEED'] ?? Math.floor(Math.random() * 1_000_000));
