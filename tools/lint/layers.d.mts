/** One layer of the project, see layers.mjs. */
export interface Layer {
  readonly folder: string;
  /** How deep its files lie: 2 for a layer with subfolders. Default 1. */
  readonly depth?: number;
}
export declare const layers: readonly Layer[];
