/** What a login proves: that the module's SDK holds the device secret and has seen this session key. */
import { createHmac } from 'node:crypto';

/**
 * HMAC-SHA256 over `RVL1` LF session key LF device id field LF wake LF heartbeat LF reply; 32 bytes.
 * `signedText` is the login line up to its reply field, as it stands on the wire: fields parted by one space.
 * Source: sleep-wire.md, Exchange 2, mac.
 */
export function computeLoginMac(secret: string, sessionKey: string, signedText: string): Buffer {
  const [version, ...fields] = signedText.split(' ');
  return createHmac('sha256', secret)
    .update([version, sessionKey, ...fields].join('\n'))
    .digest();
}
