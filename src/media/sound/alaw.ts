/** A-law: eight bits for a sample of sixteen. Source: ITU-T G.711. */

/** Every other bit is inverted on the line. */
const turnedBits = 0x55;
const positive = 0x80;

const samples = Int16Array.from({ length: 256 }, (_, code) => decodeCode(code ^ turnedBits));
/** By the upper 13 bits of a sample, which are all that a code represents. */
const codes = Uint8Array.from({ length: 8192 }, (_, index) => encodeMagnitude((index << 19) >> 19));

/** The result owns its buffer. */
export function decodeAlaw(bytes: Uint8Array): Int16Array<ArrayBuffer> {
  const decoded = new Int16Array(bytes.length);
  for (let at = 0; at < bytes.length; at += 1) decoded[at] = samples[bytes[at] ?? 0] ?? 0;
  return decoded;
}

/** The result owns its buffer. */
export function encodeAlaw(block: Int16Array): Uint8Array<ArrayBuffer> {
  const encoded = new Uint8Array(block.length);
  for (let at = 0; at < block.length; at += 1) encoded[at] = codes[((block[at] ?? 0) >> 3) & 0x1fff] ?? 0;
  return encoded;
}

function decodeCode(code: number): number {
  const segment = (code >> 4) & 7;
  const step = ((code & 15) << 4) + 8;
  const magnitude = segment === 0 ? step : (step + 0x100) << (segment - 1);
  return (code & positive) === 0 ? -magnitude : magnitude;
}

/** `sample`: 13 bits, signed. */
function encodeMagnitude(sample: number): number {
  const magnitude = sample < 0 ? -sample - 1 : sample;
  const segment = Math.max(0, 27 - Math.clz32(magnitude));
  const code = (segment << 4) | ((magnitude >> Math.max(1, segment)) & 15);
  return (sample < 0 ? code : code | positive) ^ turnedBits;
}
