/** Settings of the sleep port. Read and checked by the server's settings. */
import type { TlsFiles } from '../../lib/tls-files.ts';

export interface SleepGatewaySettings {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Sessions at once; the process's limit of open files may lower it. */
  readonly maxSessions: number;
  readonly acceptsPerSecond: number;
  /** From a tenth of the rate at the start to all of it after this long; 0: all of it at once. */
  readonly acceptRampSeconds: number;
  readonly handshakesMax: number;
  /** 0: off, as it must be behind a balancer that does not speak the PROXY protocol. */
  readonly handshakesPerAddressMax: number;
  /** Connections that wait for their session key; beyond it they are closed as `busy`. */
  readonly admissionQueueMax: number;
  readonly admissionWaitMs: number;
  /** From the session key, TLS included, to the end of the login line. */
  readonly loginDeadlineMs: number;
  /** A wakeup's whole wait on its connection. */
  readonly writeDeadlineMs: number;
  /** A packet unsent for this long ends the session. */
  readonly writeStuckMs: number;
  readonly floodBytesMax: number;
  readonly floodWindowMs: number;
  /** Every connection begins with a PROXY protocol v2 header. */
  readonly proxyProtocol: boolean;
  /** Paths of PEM files; null: plain TCP. */
  readonly tls: TlsFiles | null;
}
