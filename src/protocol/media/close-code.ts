/** How the server ends a leg: the close code, and the word in the close frame. Source: calls-and-media.md, Legs. */
import type { LegCloseReason } from '../../model/call.ts';

export interface LegClose {
  readonly code: number;
  readonly reason: string;
}

/** Those that the leg service asks for. */
export const legCloses: Readonly<Record<LegCloseReason, LegClose>> = {
  ended: { code: 1000, reason: 'ended' },
  revoked: { code: 4401, reason: 'revoked' },
  replaced: { code: 4409, reason: 'replaced' },
  drain: { code: 4503, reason: 'draining' },
};

/** Those that the peer caused. */
export const faultCloses = {
  tooLarge: { code: 1009, reason: 'too_large' },
  malformed: { code: 4400, reason: 'malformed' },
  tooMuch: { code: 4429, reason: 'too_much' },
} as const satisfies Record<string, LegClose>;

/** That of the legs themselves: nobody can carry the frames. */
export const fullClose: LegClose = { code: 4503, reason: 'media_full' };
