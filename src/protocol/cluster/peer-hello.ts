/**
 * What is said first on a connection between two processes of one machine: both say who they are, and processes of one
 * release only go on. Behind the word that refuses, the connection ends.
 */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import { line, memberId } from './name-values.ts';
import { decodeVersioned, encodeVersioned } from './versioned.ts';

export type PeerHello =
  | { readonly kind: 'hello'; readonly member: MemberId; readonly release: string }
  | { readonly kind: 'refused'; readonly sentence: string };

const hello: z.ZodType<PeerHello> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('hello'), member: memberId, release: line }),
  z.strictObject({ kind: z.literal('refused'), sentence: line }),
]);

export function encodePeerHello(hello: PeerHello): Uint8Array {
  return encodeVersioned(hello);
}

/** What was said, or what is wrong with the bytes, as a sentence. Never throws. */
export function decodePeerHello(bytes: Uint8Array): Result<PeerHello, string> {
  return decodeVersioned(bytes, hello);
}
