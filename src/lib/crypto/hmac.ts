/**
 * HMAC-SHA256 of short texts, by RFC 2104 over one-shot hashes: an Hmac object takes half as long again, and the garbage collector
 * has to finalize it. A property test compares it with node:crypto's.
 */
import { hash } from 'node:crypto';
import { assert } from '../assert.ts';

const blockBytes = 64;
const digestBytes = 32;
const innerPad = 0x36;
const outerPad = 0x5c;
const textBytesMax = 1536;
/** Maximum UTF-8 bytes of a UTF-16 unit. */
const utf8BytesMax = 3;

const inner = Buffer.alloc(blockBytes + textBytesMax);
const outer = Buffer.alloc(blockBytes + digestBytes);
const secretKey = Buffer.alloc(blockBytes);

/** Cached view of `inner` for the last length: nearly all texts have the same length. */
let innerText = inner;
/** Key of the pads in both blocks: consecutive requests usually share it. */
let paddedKey: Uint8Array | null = null;

/**
 * 64 lowercase hex digits, or base64url without padding. `key`: 32 bytes, never modified; `text`: at most `textBytesMax` bytes as
 * UTF-8, of which 512 characters are never more.
 */
export function hmacSha256(key: Uint8Array, text: string, encoding: 'hex' | 'base64url'): string {
  assert(key.length === digestBytes, 'a derived key is 32 bytes');
  if (key !== paddedKey) padBlocks(key);
  paddedKey = key;
  return hashOuter(text, encoding);
}

/**
 * 32 bytes. `secret`: of any length; `text` as above. The secret is padded at each call, so that the time does not show that the
 * call before had the same one.
 */
export function hmacSha256OfSecret(secret: string, text: string): Buffer {
  secretKey.fill(0);
  if (Buffer.byteLength(secret) <= blockBytes) secretKey.write(secret);
  else secretKey.write(hash('sha256', secret, 'binary'), 'binary');
  padBlocks(secretKey);
  paddedKey = null;
  return Buffer.from(hashOuter(text, 'binary'), 'binary');
}

function hashOuter(text: string, encoding: 'hex' | 'base64url' | 'binary'): string {
  const isShort = text.length * utf8BytesMax <= textBytesMax;
  assert(isShort || Buffer.byteLength(text) <= textBytesMax, 'the text fits the block behind the key');
  const end = blockBytes + inner.write(text, blockBytes);
  if (innerText.length !== end) innerText = inner.subarray(0, end);
  outer.write(hash('sha256', innerText, 'binary'), blockBytes, 'binary');
  return hash('sha256', outer, encoding);
}

/** A shorter key is followed by zero bytes. */
function padBlocks(key: Uint8Array): void {
  for (let i = 0; i < blockBytes; i++) {
    const byte = key[i] ?? 0;
    inner[i] = byte ^ innerPad;
    outer[i] = byte ^ outerPad;
  }
}
