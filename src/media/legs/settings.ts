/** What a deployment may set of the media listener. Its file of settings is read elsewhere. */
import type { TlsFiles } from '../../lib/tls-files.ts';

export interface MediaLegsSettings {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Legs, idle bridges and viewers at once; the process's limit of open files may lower it. */
  readonly legsMax: number;
  /** Connections that have not been let in yet. */
  readonly handshakesMax: number;
  /** Those of one address; 0: off, as it must be behind a proxy. */
  readonly handshakesPerAddressMax: number;
  /** Paths of PEM files; null: plain WebSockets and HTTP. */
  readonly tls: TlsFiles | null;
}
