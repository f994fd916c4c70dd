/** Where the NAL units of an Annex B byte stream begin. Source: ITU-T H.264 and H.265, Annex B. */

/**
 * Index of the first byte behind the next start code at or after `from`; -1: there is none, or nothing behind it. A
 * start code of four bytes is one of three with a zero before it.
 */
export function nextNalUnit(bytes: Uint8Array, from: number): number {
  let at = from + 2;
  while (at < bytes.length - 1) {
    const last = bytes[at] ?? 0;
    // Three steps at once: a byte that is neither 0 nor 1 is in no start code.
    if (last > 1) at += 3;
    else if (last === 1 && bytes[at - 1] === 0 && bytes[at - 2] === 0) return at + 1;
    else at += 1;
  }
  return -1;
}
