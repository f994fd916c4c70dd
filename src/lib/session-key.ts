/**
 * The session key: 32 characters that every connection gets first and that its login must cover, so that a
 * recorded login opens nothing twice. Random bytes are fetched for many keys at once: a key is then a slice
 * and an encoding. Source: sleep-wire.md, Exchange 1.
 */
import { randomFillSync } from 'node:crypto';

const keyBytes = 24;
/** Characters of a session key on the wire. */
export const sessionKeyLength = 32;

const pool = Buffer.alloc(keyBytes * 256);
let used = pool.length;

/** 32 characters of `A-Z a-z 0-9 _ -`, never given before. */
export function generateSessionKey(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += keyBytes;
  return pool.toString('base64url', used - keyBytes, used);
}
