/**
 * TCP between a device and a server process: bytes arrive in order and late, either end may go, and one that breaks
 * silently tells neither. The server's ends are those of its own connection classes.
 */
import type { SleepSocket } from '../../src/edge/sleeping-connection.ts';
import type { FrameSocket, SocketOwner } from '../../src/gateways/signal/web-socket.ts';
import { encodeBye, type SignalClose } from '../../src/protocol/signal/server-message.ts';
import type { Host, Timeline } from './timeline.ts';

/** How networks of devices behave, drawn anew for each message. */
export interface WireFaults {
  delayMs(): number;
  /** A write to the kernel waits for so long; 0: it is taken at once. */
  stuckMs(): number;
  /** For a canary: the kernel does not get what was written. */
  swallows(isWake: boolean): boolean;
  /** For a canary: one that is told that it was replaced stays connected. */
  readonly keepsReplaced: boolean;
}

/** What the device's end hears. */
export interface PeerEnd {
  received(data: string): void;
  gone(code: number | null): void;
}

/** What the server's end hears. */
export interface ServerEnd {
  received(data: string): void;
  /** A FIN, or a reset. */
  ended(isReset: boolean): void;
}

export interface WireDeps {
  readonly timeline: Timeline;
  readonly host: Host;
  readonly faults: WireFaults;
}

export class Wire {
  readonly deps: WireDeps;
  readonly #peer: PeerEnd;
  #server: ServerEnd | null = null;
  #toServerMs = 0;
  #toPeerMs = 0;
  /** The server has given its end up. */
  isServerClosed = false;
  /** When it has. */
  closedMs = Infinity;
  isPeerClosed = false;
  /** Neither hears of the other any more. */
  isSilent = false;

  constructor(deps: WireDeps, peer: PeerEnd) {
    this.deps = deps;
    this.#peer = peer;
  }

  accept(server: ServerEnd): void {
    this.#server = server;
  }

  /** Its process has died: its kernel says so. */
  serverCrashed(): void {
    if (this.isServerClosed) return;
    this.isServerClosed = true;
    this.#toPeer(() => this.#peerGone(null));
  }

  send(data: string): void {
    this.#toServer(() => this.#server?.received(data));
  }

  /** The device goes; `isReset`: without a FIN. */
  end(isReset: boolean): void {
    if (this.isPeerClosed) return;
    this.isPeerClosed = true;
    this.#toServer(() => this.#server?.ended(isReset));
  }

  breakSilently(): void {
    this.isSilent = true;
  }

  sendToPeer(data: string): void {
    this.#toPeer(() => {
      if (!this.isPeerClosed) this.#peer.received(data);
    });
  }

  closeServer(code: number | null): void {
    if (this.isServerClosed) return;
    this.isServerClosed = true;
    this.closedMs = this.deps.timeline.nowMs;
    this.#toPeer(() => this.#peerGone(code));
  }

  #peerGone(code: number | null): void {
    if (this.isPeerClosed) return;
    this.isPeerClosed = true;
    this.#peer.gone(code);
  }

  #toServer(arrive: () => void): void {
    const { timeline, host, faults } = this.deps;
    this.#toServerMs = Math.max(this.#toServerMs, timeline.nowMs + faults.delayMs());
    timeline.after(this.#toServerMs - timeline.nowMs, host, () => {
      if (!this.isSilent && !this.isServerClosed) arrive();
    });
  }

  #toPeer(arrive: () => void): void {
    const { timeline, faults } = this.deps;
    this.#toPeerMs = Math.max(this.#toPeerMs, timeline.nowMs + faults.delayMs());
    timeline.after(this.#toPeerMs - timeline.nowMs, null, () => {
      if (!this.isSilent) arrive();
    });
  }
}

/** The server's end of a sleeping module's connection. */
export class SimulatedSleepSocket implements SleepSocket {
  writable = true;
  readonly readableEnded = false;
  destroyed = false;
  writableLength = 0;
  readonly #wire: Wire;
  /** Told of bytes that the kernel has taken. */
  readonly #taken: (hex: string) => void;

  constructor(wire: Wire, taken: (hex: string) => void) {
    this.#wire = wire;
    this.#taken = taken;
  }

  write(
    data: Buffer | string,
    encodingOrDone: 'latin1' | ((error?: Error | null) => void),
    then?: (error?: Error | null) => void,
  ): boolean {
    const done = typeof encodingOrDone === 'function' ? encodingOrDone : then;
    const { timeline, host, faults } = this.#wire.deps;
    const text = typeof data === 'string' ? data : data.toString('hex');
    const stuckMs = faults.stuckMs();
    if (this.destroyed || this.#wire.isServerClosed) {
      timeline.after(0, host, () => done?.(new Error('write after end')));
      return false;
    }
    if (stuckMs > 0) this.writableLength += data.length;
    else this.#take(text);
    timeline.after(stuckMs, host, () => {
      if (stuckMs > 0 && !this.destroyed) {
        this.writableLength -= data.length;
        this.#take(text);
      }
      done?.();
    });
    return stuckMs === 0;
  }

  destroy(): void {
    this.destroyed = true;
    this.writable = false;
    this.#wire.closeServer(null);
  }

  #take(text: string): void {
    if (this.#wire.deps.faults.swallows(text !== 'OK\n')) return;
    this.#taken(text);
    this.#wire.sendToPeer(text);
  }
}

/** How a controller is told that a later login has its session. */
export const replacedCode = 4409;

/** The server's end of a controller's WebSocket. */
export class SimulatedFrameSocket implements FrameSocket {
  owner: SocketOwner | null = null;
  readonly address = '';
  readonly bufferedAmount = 0;
  readonly #wire: Wire;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  sendText(text: string): boolean {
    this.#wire.sendToPeer(text);
    return true;
  }

  dismiss({ code, reason }: SignalClose): void {
    this.sendText(encodeBye(reason));
    if (code === replacedCode && this.#wire.deps.faults.keepsReplaced) return;
    this.#wire.closeServer(code);
  }

  terminate(): void {
    this.#wire.closeServer(null);
  }
}
