/**
 * Masking of WebSocket frames four bytes at a time, for the library `ws`, which takes the functions from `node:http` as it loads;
 * without them it masks byte by byte, which takes five times as long for a camera picture. A Node with its own functions keeps
 * them.
 */
import http from 'node:http';

const maskBytes = 4;

/** In place. `mask`: 4 bytes, the first for the first of `bytes`. */
export function websocketUnmask(bytes: Uint8Array, mask: Uint8Array): void {
  if (bytes.length < maskBytes) return unmaskBytes(bytes, mask, 0, bytes.length);
  const lead = -bytes.byteOffset & (maskBytes - 1);
  const wordCount = Math.floor((bytes.length - lead) / maskBytes);
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + lead, wordCount);
  const turned = Uint8Array.from({ length: maskBytes }, (_, at) => mask[(lead + at) % maskBytes] ?? 0);
  const [word = 0] = new Int32Array(turned.buffer);
  unmaskBytes(bytes, mask, 0, lead);
  for (let at = 0; at < words.length; at += 1) words[at] = (words[at] ?? 0) ^ word;
  unmaskBytes(bytes, mask, lead + words.byteLength, bytes.length);
}

/** Writes `length` masked bytes of `source` to `output`, starting at `offset`. */
export function websocketMask(
  source: Uint8Array,
  mask: Uint8Array,
  output: Uint8Array,
  offset: number,
  length: number,
): void {
  const masked = output.subarray(offset, offset + length);
  masked.set(source.subarray(0, length));
  websocketUnmask(masked, mask);
}

function unmaskBytes(bytes: Uint8Array, mask: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; at += 1) bytes[at] = (bytes[at] ?? 0) ^ (mask[at % maskBytes] ?? 0);
}

if (!('websocketUnmask' in http)) Object.assign(http, { websocketMask, websocketUnmask });
