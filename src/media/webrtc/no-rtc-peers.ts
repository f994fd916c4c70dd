/** The peers of a process without WebRTC: nobody connects by it. */
import { fail } from '../../lib/result.ts';
import type { RtcPeers } from './rtc-peer.ts';

/** `missing`: why, and what to do. */
export function noRtcPeers(missing: string): RtcPeers {
  return { count: 0, missing, open: () => fail('unavailable'), close: () => undefined };
}
