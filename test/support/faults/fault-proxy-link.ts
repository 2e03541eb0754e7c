import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FaultState, LoseReply, LoseRequest } from './fault-proxy.ts';

type Direction = 'requests' | 'replies';

/** One connection through the proxy: a socket of the client, and one to the server. */
export class FaultLink {
  /** Resolves when both sockets are closed. */
  readonly closed: Promise<unknown>;
  readonly #state: FaultState;
  readonly #client: Socket;
  readonly #server: Socket;
  /** Delayed chunks, per direction: later ones queue behind them. */
  readonly #late = { requests: Promise.resolve(), replies: Promise.resolve() };
  readonly #queued = { requests: 0, replies: 0 };
  /** When the last chunk of a narrow network has passed, by `performance.now()`. */
  readonly #narrowUntil = { requests: 0, replies: 0 };
  /** Bytes passed since the current fault was injected. */
  #passed = { requests: 0, replies: 0 };
  /** The end of the last request chunk, where a match may begin. */
  #requestTail = '';
  /** The fault that applies to the next reply. */
  #losing: LoseReply | undefined;
  /** Bytes were lost: the connection cannot continue as if nothing had happened. */
  #damaged = false;
  /** The other side has vanished, for good. */
  #stranded = false;

  constructor(state: FaultState, client: Socket) {
    this.#state = state;
    this.#client = client;
    this.#server = connect({ ...state.target, allowHalfOpen: true, noDelay: true });
    this.closed = Promise.all([closing(client), closing(this.#server)]);
    this.#carry(client, this.#server, 'requests');
    this.#carry(this.#server, client, 'replies');
    if (state.fault?.kind === 'reset') this.#resetBy('reset');
  }

  /** Resets both sides. */
  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  /** Must be called when the fault of the proxy changes or ends. */
  faultChanged(): void {
    const { fault } = this.#state;
    this.#passed = { requests: 0, replies: 0 };
    this.#losing = undefined;
    if (fault?.kind === 'strand') this.#stranded = true;
    if (fault?.kind === 'reset') this.#resetBy('reset');
    else if (this.#damaged && !this.#stranded && !swallows(fault?.kind)) this.reset();
  }

  #carry(from: Socket, to: Socket, direction: Direction): void {
    from.on('data', (piece) => (this.#stranded ? this.#swallow('strand') : this.#meet(piece, to, direction)));
    from.on('end', () => this.#tell(direction, () => to.end()));
    // An error on one side is passed on to the other.
    from.on('error', () => this.#tell(direction, () => to.resetAndDestroy()));
    from.on('close', () => this.#tell(direction, () => to.destroySoon()));
    to.on('drain', () => from.resume());
  }

  #meet(piece: Buffer, to: Socket, direction: Direction): void {
    const { fault } = this.#state;
    if (this.#losing !== undefined && direction === 'replies') return this.#lose(this.#losing);
    switch (fault?.kind) {
      case 'blackhole':
        return this.#swallow(fault.kind);
      case 'drop-replies':
        if (direction === 'replies') return this.#swallow(fault.kind);
        break;
      case 'delay':
        this.#state.fire('delay');
        return this.#later(direction, fault.ms + this.#state.chance() * (fault.jitterMs ?? 0), () =>
          this.#pass(piece, to, direction),
        );
      case 'throttle':
        this.#state.fire('throttle');
        return this.#later(direction, this.#narrowMs(piece, direction, fault.bytesPerSecond), () =>
          this.#pass(piece, to, direction),
        );
      case 'cut':
        if (direction === fault.of && this.#passed[direction] + piece.length > fault.afterBytes)
          return this.#cut(piece, to, fault.afterBytes - this.#passed[direction]);
        break;
      case 'lose-reply':
        if (direction === 'requests' && this.#chooses(fault, piece)) this.#losing = fault;
        break;
      case 'lose-request':
        if (direction === 'requests' && this.#chooses(fault, piece)) return this.#resetBy(fault.kind);
        break;
      default:
      // No fault, or one that was applied when it was injected.
    }
    this.#later(direction, 0, () => this.#pass(piece, to, direction));
  }

  /** How long a chunk takes, behind those before it. */
  #narrowMs(piece: Buffer, direction: Direction, bytesPerSecond: number): number {
    const nowMs = performance.now();
    const until = Math.max(nowMs, this.#narrowUntil[direction]) + (piece.length / bytesPerSecond) * 1_000;
    this.#narrowUntil[direction] = until;
    return until - nowMs;
  }

  /** Passes on the end of one side, unless the fault hides it from the other. */
  #tell(direction: Direction, work: () => void): void {
    if (!this.#stranded) this.#later(direction, 0, work);
  }

  #pass(piece: Buffer, to: Socket, direction: Direction): void {
    this.#passed[direction] += piece.length;
    if (!to.writable) return;
    if (!to.write(piece)) (direction === 'requests' ? this.#client : this.#server).pause();
  }

  /** Runs `work` after this delay, and after everything of this direction that is already delayed. */
  #later(direction: Direction, ms: number, work: () => void): void {
    if (ms === 0 && this.#queued[direction] === 0) return work();
    this.#queued[direction] += 1;
    this.#late[direction] = this.#afterwards(this.#late[direction], direction, performance.now() + ms, work);
  }

  async #afterwards(
    before: Promise<void>,
    direction: Direction,
    at: number,
    work: () => void,
  ): Promise<void> {
    await before;
    await delay(Math.max(0, at - performance.now()));
    this.#queued[direction] -= 1;
    work();
  }

  #swallow(kind: 'blackhole' | 'drop-replies' | 'strand'): void {
    this.#damaged = true;
    this.#state.fire(kind);
  }

  #cut(piece: Buffer, to: Socket, bytes: number): void {
    this.#state.fire('cut');
    // What is written before a reset may be lost with it; an orderly end lets it arrive.
    to.end(piece.subarray(0, bytes));
    (to === this.#client ? this.#server : this.#client).resetAndDestroy();
  }

  /** True if a match ends in this chunk and the fault applies to it. */
  #chooses({ to, times, chance }: LoseReply | LoseRequest, piece: Buffer): boolean {
    const text = this.#requestTail + piece.toString('latin1');
    this.#requestTail = text.slice(Math.max(0, text.length - to.length + 1));
    if (this.#losing !== undefined || !text.includes(to)) return false;
    this.#requestTail = '';
    if (times !== undefined && this.#state.chosen >= times) return false;
    if (chance !== undefined && this.#state.chance() >= chance) return false;
    this.#state.chosen += 1;
    return true;
  }

  #lose({ silentMs = 0 }: LoseReply): void {
    if (this.#damaged) return;
    this.#damaged = true;
    this.#state.fire('lose-reply');
    if (silentMs === 0) this.reset();
    else setTimeout(() => this.reset(), silentMs);
  }

  #resetBy(kind: 'reset' | 'lose-request'): void {
    if (this.#client.destroyed) return;
    this.#state.fire(kind);
    this.reset();
  }
}

function swallows(kind: string | undefined): boolean {
  return kind === 'blackhole' || kind === 'drop-replies';
}

function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
  });
}
