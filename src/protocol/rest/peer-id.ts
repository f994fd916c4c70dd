/**
 * `peer_id`, by which a device finds its call. Its values say where the call is and who is called; what is secret is in
 * none of them. Devices read the first two without decoding. It is never longer than `peerIdBytesMax`: the bounds of
 * its parts leave 1392 bytes, and a test holds them to that. Source: calls-and-media.md, Credential issuance.
 */
import type { CallSession } from '../../model/call.ts';

export function encodePeerId({
  room,
  deviceId,
  sessionId,
}: Pick<CallSession, 'room' | 'deviceId' | 'sessionId'>): string {
  return (
    `whips://msgvoip?x_msg_app_id=${encode(room.msgAppId)}&x_msg_model_id=${encode(room.modelId)}` +
    `&x_msg_room_id=${encode(room.roomId)}&x_device_id=${encode(deviceId)}&x_session=${encode(sessionId)}`
  );
}

/** RFC 3986: what is not unreserved is escaped, also the five that encodeURIComponent leaves. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
