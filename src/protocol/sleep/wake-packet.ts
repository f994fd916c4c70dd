/** The only bytes ever sent to a sleeping module. Source: API doc, Endpoint 2; decisions.md, Wakeup, Packet. */
import { assert } from '../../lib/assert.ts';
import type { CustomData } from '../../model/sleep.ts';

export const wakePacketBytes = 8;

const pattern = [0x98, 0x3b, 0x16, 0xf8, 0xf3, 0x9c] as const;

/** Shared by every fixed wakeup; read-only. */
const fixedPacket = Buffer.from([...pattern, 0, 0]);

/** The radio's pattern and two bytes: `customData` in the order written, or zeros. The result is read-only. */
export function encodeWakePacket(customData: CustomData): Buffer {
  if (customData === null) return fixedPacket;
  assert(customData.length === 2, 'custom data is two bytes');
  return Buffer.from([...pattern, ...customData]);
}
