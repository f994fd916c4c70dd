/** A tone as A-law, in packets of 20 ms. */

export const packetsPerSecond = 50;
const toneHz = 440;
/** A quarter of what can be said in A-law: nobody is to be frightened. */
const amplitude = 8192;

/** The packet that begins `atMs` after the first. `rate`: samples a second of each channel. */
export function tonePacket(atMs: number, rate: number, channels: number): Uint8Array {
  const samples = rate / packetsPerSecond;
  const first = Math.round((atMs * rate) / 1000);
  const packet = new Uint8Array(samples * channels);
  for (let sample = 0; sample < samples; sample += 1) {
    const level = amplitude * Math.sin((2 * Math.PI * toneHz * (first + sample)) / rate);
    packet.fill(encodeAlaw(Math.trunc(level)), sample * channels, (sample + 1) * channels);
  }
  return packet;
}

/** ITU-T G.711. `level`: 16 bits signed, of which A-law keeps the upper 13. */
export function encodeAlaw(level: number): number {
  const sign = level >= 0 ? 0x80 : 0;
  const magnitude = (level >= 0 ? level : -level - 1) >> 3;
  const exponent = Math.max(0, 27 - Math.clz32(magnitude));
  const mantissa = (magnitude >> Math.max(1, exponent)) & 0x0f;
  return (sign | (exponent << 4) | mantissa) ^ 0x55;
}
