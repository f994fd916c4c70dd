/** Call credentials of a fictitious room of a messaging app, and the session of a `peer_id`. */
import { randomBytes } from 'node:crypto';
import type { CallCredentialsBody } from '../../client/reveille-client.ts';
import { generateSecret } from '../../storage/registry/registry-write.ts';

export type RoomMedia = Partial<CallCredentialsBody>;

export const simulatedSound = { rate: 8000, channels: 1 } as const;

/** `prefix`: of the room id that operators see. */
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

/** Returns the session of a `peer_id`; empty: none. */
export function sessionOf(peerId: string): string {
  return new URL(peerId).searchParams.get('x_session') ?? '';
}
