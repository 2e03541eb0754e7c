/** Messages per second of the library and of a loop over the bare client, measured in one run. */
export interface Rates {
  readonly ours: number;
  readonly bare: number;
}

/** The figures of one transport; `received` is absent if it only sends. */
export interface TransportFigures {
  readonly name: string;
  readonly sent: Rates;
  readonly received?: Rates;
}

/** The size of the measurement. */
export interface TransportSizes {
  readonly rounds: number;
  readonly messages: number;
  readonly tell: (line: string) => void;
}
