/**
 * A place in the log as callers pass it back: opaque to them, a version byte and the sequence in eight bytes to us,
 * twelve characters of base64url. Source: events.md, Reading.
 */
const cursorVersion = 1;
const cursorBytes = 9;
const cursorForm = /^[A-Za-z0-9_-]{12}$/;

/** `sequence`: of the event it stands behind; 0: before the first. */
export function encodeCursor(sequence: number): string {
  const bytes = Buffer.allocUnsafe(cursorBytes);
  bytes[0] = cursorVersion;
  bytes.writeBigUInt64BE(BigInt(sequence), 1);
  return bytes.toString('base64url');
}

/** Null: it is none of ours. */
export function decodeCursor(text: string): number | null {
  if (!cursorForm.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes[0] !== cursorVersion) return null;
  const sequence = Number(bytes.readBigUInt64BE(1));
  return Number.isSafeInteger(sequence) ? sequence : null;
}
