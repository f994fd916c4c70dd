/**
 * Session keys: 32 random characters that every connection receives first. A login's mac covers the key, so that a recorded
 * login cannot be replayed. Random bytes are fetched for many keys at once. Source: sleep-wire.md, Exchange 1.
 */
import { randomFillSync } from 'node:crypto';

const keyBytes = 24;
export const sessionKeyLength = 32;

const pool = Buffer.alloc(keyBytes * 256);
let used = pool.length;

/** 32 characters of `A-Z a-z 0-9 _ -`, unique. */
export function generateSessionKey(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += keyBytes;
  return pool.toString('base64url', used - keyBytes, used);
}
