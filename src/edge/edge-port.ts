/** An edge process as its end of the link sees it. */
import type { ListenAddress } from '../lib/connections/listen-address.ts';
import type { EdgeHello } from '../protocol/edge-link/edge-message.ts';

/** Identity of the edge, sent in its hello. */
export type EdgeIdentity = Omit<EdgeHello, 'kind' | 'version'>;

/** The edge's listener, which carries out the core's orders. */
export interface EdgePort {
  readonly address: ListenAddress;
  readonly sockets: number;
  /** Returns the reason why the old certificate stays in force; null: reloaded. */
  reloadTls(): string | null;
  /** Resolves with the number of sessions still open. Never rejects. */
  drain(perSecond: number, deadlineMs: number): Promise<number>;
  /** A full edge stops accepting as long as other edges have room. */
  balance(othersHaveRoom: boolean): void;
}
