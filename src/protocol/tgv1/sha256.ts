/**
 * SHA-256 and HMAC-SHA256 as the signing scheme uses them. The HMAC is RFC 2104 over one-shot hashes: for
 * a text this short that takes two thirds of the time of a Hmac object (0.9 against 1.3 µs), and a property test
 * holds it equal to node:crypto's own.
 */
import { hash } from 'node:crypto';
import { assert } from '../../lib/assert.ts';

const blockBytes = 64;
const digestBytes = 32;
const innerPad = 0x36;
const outerPad = 0x5c;
/** The string to sign has about 120. */
const textBytesMax = 512;
/** A UTF-16 unit takes at most this many in UTF-8. */
const utf8BytesMax = 3;

/** Of no bytes at all: what a request without a body carries. */
export const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** 64 lowercase hex digits. A string is hashed as UTF-8. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content);
}

// A derived key is as long as a digest; the rest of both blocks stays the pad of zero bytes.
const inner = Buffer.alloc(blockBytes + textBytesMax).fill(innerPad, 0, blockBytes);
const outer = Buffer.alloc(blockBytes + digestBytes).fill(outerPad, 0, blockBytes);

/** What is hashed of `inner`: nearly every text has the same length, so the view of it is kept. */
let innerText = inner;

/** 64 lowercase hex digits. `key` is 32 bytes; `text` at most 170 characters, so that it fits in any script. */
export function hmacSha256Hex(key: Uint8Array, text: string): string {
  assert(key.length === digestBytes, 'a derived key is 32 bytes');
  assert(text.length * utf8BytesMax <= textBytesMax, 'the text fits the block behind the key');
  for (let i = 0; i < digestBytes; i++) {
    const byte = key[i] ?? 0;
    inner[i] = byte ^ innerPad;
    outer[i] = byte ^ outerPad;
  }
  const end = blockBytes + inner.write(text, blockBytes);
  if (innerText.length !== end) innerText = inner.subarray(0, end);
  outer.write(hash('sha256', innerText, 'binary'), blockBytes, 'binary');
  return hash('sha256', outer);
}
