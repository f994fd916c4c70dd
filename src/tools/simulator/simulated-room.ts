/** The room of a messaging app that nobody has opened, as a backend would describe it to the server, and the session of its call. */
import { randomBytes } from 'node:crypto';
import type { CallCredentialsBody } from '../../client/reveille-client.ts';
import { generateSecret } from '../../storage/registry/registry-write.ts';

/** What the device can take. */
export type RoomMedia = Partial<CallCredentialsBody>;

export const simulatedSound = { rate: 8000, channels: 1 } as const;

/** `prefix`: of the id by which operators see the room. */
export function simulatedRoom(prefix: string, media: RoomMedia): Omit<CallCredentialsBody, 'device_id'> {
  return {
    msg_session_key: generateSecret(),
    msg_session_token: generateSecret(),
    msg_room_id: `${prefix}-room-${randomBytes(3).toString('hex')}`,
    msg_app_id: `wx-${prefix}`,
    msg_model_id: `${prefix}-doorbell`,
    audio_rate: simulatedSound.rate,
    audio_channels: simulatedSound.channels,
    ...media,
  };
}

/** Of a `peer_id`. Empty: it names none. */
export function sessionOf(peerId: string): string {
  return new URL(peerId).searchParams.get('x_session') ?? '';
}
