/**
 * Which secret a session was proven with, in a number that fits beside a million sleeping devices: a change of the
 * secret is seen by it, and nothing else is learnt from it.
 */
import { randomInt } from 'node:crypto';

/** Of this process: the marks of another's memory mean nothing. */
const seed = randomInt(2 ** 32) | 0;

/** 32 bits, signed; of two secrets it is the same once in 2^32. About 0.1 µs. */
export function secretMark(secret: string): number {
  let mark = seed ^ secret.length;
  for (let at = 0; at < secret.length; at++) {
    mark = Math.imul(mark ^ secret.charCodeAt(at), 0x5bd1_e995);
    mark ^= mark >>> 15;
  }
  return mark | 0;
}
