/** An edge process, as its end of the link has it. */
import type { EdgeAddress, EdgeHello } from '../protocol/edge-link/edge-message.ts';

/** Its words about itself in the hello. */
export type EdgeIdentity = Omit<EdgeHello, 'kind' | 'version'>;

/** The edge's listener, for orders of the core. */
export interface EdgePort {
  readonly address: EdgeAddress;
  /** Sockets of modules. */
  readonly sockets: number;
  /** Returns why it keeps the certificate that it has; null: it has read the files again. */
  reloadTls(): string | null;
  /** Resolves with the number of sessions that are left. Never rejects. */
  drain(perSecond: number, deadlineMs: number): Promise<number>;
  /** While it is full, modules are left to others as long as they have room. */
  balance(othersHaveRoom: boolean): void;
}
