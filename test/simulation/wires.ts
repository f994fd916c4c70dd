/**
 * TCP between a device and a server process: bytes arrive in order and late, either end may close, and a silent break notifies
 * neither. The server's own connection classes run on the server's end.
 */
import type { SleepSocket } from '../../src/edge/sleeping-connection.ts';
import type { FrameSocket, SocketOwner } from '../../src/gateways/signal/web-socket.ts';
import { encodeBye, type SignalClose } from '../../src/protocol/signal/server-message.ts';
import type { Host, Timeline } from './timeline.ts';

/** Faults of device networks, random per message. */
export interface WireFaults {
  delayMs(): number;
  /** Milliseconds that a write waits for the kernel; 0: none. */
  stuckMs(): number;
  /** For a canary: the write is not sent. */
  swallows(isWake: boolean): boolean;
  /** For a canary: a replaced controller stays connected. */
  readonly keepsReplaced: boolean;
}

export interface PeerEnd {
  received(data: string): void;
  closed(code: number | null): void;
}

export interface ServerEnd {
  received(data: string): void;
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
  isServerClosed = false;
  closedMs = Infinity;
  isPeerClosed = false;
  /** Broken without notifying either end. */
  isSilent = false;

  constructor(deps: WireDeps, peer: PeerEnd) {
    this.deps = deps;
    this.#peer = peer;
  }

  accept(server: ServerEnd): void {
    this.#server = server;
  }

  /** The server process died; its kernel closes the connection. */
  serverCrashed(): void {
    if (this.isServerClosed) return;
    this.isServerClosed = true;
    this.#toPeer(() => this.#closePeer(null));
  }

  send(data: string): void {
    this.#toServer(() => this.#server?.received(data));
  }

  /** Closes the device's end; `isReset`: without a FIN. */
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
    this.#toPeer(() => this.#closePeer(code));
  }

  #closePeer(code: number | null): void {
    if (this.isPeerClosed) return;
    this.isPeerClosed = true;
    this.#peer.closed(code);
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

export class SimulatedSleepSocket implements SleepSocket {
  writable = true;
  readonly readableEnded = false;
  destroyed = false;
  writableLength = 0;
  readonly #wire: Wire;
  readonly #onWritten: (hex: string) => void;

  constructor(wire: Wire, onWritten: (hex: string) => void) {
    this.#wire = wire;
    this.#onWritten = onWritten;
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
    else this.#deliver(text);
    timeline.after(stuckMs, host, () => {
      if (stuckMs > 0 && !this.destroyed) {
        this.writableLength -= data.length;
        this.#deliver(text);
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

  #deliver(text: string): void {
    if (this.#wire.deps.faults.swallows(text !== 'OK\n')) return;
    this.#onWritten(text);
    this.#wire.sendToPeer(text);
  }
}

/** Close code of a controller that a later login replaced. */
export const replacedCode = 4409;

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
