/** What a controller's login proves: that it holds the device secret and has seen this session key. */
import { createHmac } from 'node:crypto';

/** HMAC-SHA256 over `RVS1` LF session key LF base64url of the device id, unpadded; 32 bytes. Source: signal-wire.md. */
export function computeSignalMac(secret: string, sessionKey: string, deviceId: string): Buffer {
  const idField = Buffer.from(deviceId, 'utf8').toString('base64url');
  return createHmac('sha256', secret).update(`RVS1\n${sessionKey}\n${idField}`).digest();
}
