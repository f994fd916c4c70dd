/** What a server and its media process tell each other of the process itself: plain values. */
import type { Size } from '../../model/call.ts';

/** What the server tells the media process that it started; one elsewhere has settings of its own. */
export interface MediaProcessSettings {
  /** Of the listener. */
  readonly legs: {
    readonly host: string;
    /** 0: a free one. */
    readonly port: number;
    readonly legsMax: number;
    readonly handshakesMax: number;
    readonly handshakesPerAddressMax: number;
    /** Paths of PEM files; null: plain WebSockets and HTTP. */
    readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  };
  /** Threads that decode, scale and encode; 0: one less than there are processors. */
  readonly workers: number;
  /** Share of the workers' time that calls may take, 0 to 1. */
  readonly loadMax: number;
  /** Of JPEGs, 1 to 100. */
  readonly quality: number;
  readonly sourceMax: Size;
  readonly maxFps: number;
}

/** Where its listener is. */
export interface MediaAddress {
  readonly host: string;
  readonly port: number;
}

/** What it has at the moment. */
export interface MediaProcessCounts {
  readonly legs: number;
  /** Descriptors that its connections hold. */
  readonly sockets: number;
  readonly sessions: number;
  /** Busy share of the time of each worker, 0 to 1, over the last seconds. */
  readonly loads: readonly number[];
  /** The version of the decoders' library; null: this machine has none. */
  readonly engine: string | null;
}
