/**
 * The call of the story: a phone has opened a room, a bridge stands in it for the device. What a backend does is what
 * any backend does; the phone is played by its bridge. Source: calls-and-media.md; running.md, Two commands.
 */
import { randomBytes } from 'node:crypto';
import type { CallCredentialsBody } from '../client/reveille-client.ts';
import { generateSecret } from '../store/generated-secrets.ts';
import type { DemoBackend } from './demo-backend.ts';
import { sessionOf } from './demo-credentials.ts';
import type { DemoDevice } from './demo-device.ts';
import { DemoLegs } from './demo-legs.ts';
import type { DemoStage } from './demo-stage.ts';
import type { Timeline } from './timeline.ts';

/** By which a device is given what it joins a call with. */
const messageName = 'msga_join_voip_room';

export async function playCall(
  stage: DemoStage,
  timeline: Timeline,
  { device, backend }: { readonly device: DemoDevice; readonly backend: DemoBackend },
): Promise<void> {
  const legs = new DemoLegs(stage, timeline);
  try {
    await legs.standBridge();
    await backend.expectCallStatus('before the call', false);
    const issued = await backend.issueCredentials(aRoom());
    await legs.takeCall(sessionOf(issued.peer_id));
    const [credentials] = await Promise.all([
      device.takeCredentials(messageName),
      backend.sendMessage(messageName, issued),
    ]);
    await legs.connectDevice(credentials.token);
    await backend.expectCallStatus('device and bridge are there', true);
    await legs.accept();
    await legs.answer();
    await legs.hangUp();
    await backend.expectCallStatus('after the call', false);
  } finally {
    await legs.close();
  }
}

/** What the messaging app told the backend of the room, and what the device can take. */
function aRoom(): Omit<CallCredentialsBody, 'device_id'> {
  return {
    msg_session_key: generateSecret(),
    msg_session_token: generateSecret(),
    msg_room_id: `demo-room-${randomBytes(3).toString('hex')}`,
    msg_app_id: 'wx-demo',
    msg_model_id: 'demo-doorbell',
    down_video_mt: 'mjpeg',
    screen_width: 160,
    screen_height: 100,
    video_res_mode: 'fit_screen',
    audio_rate: 8000,
    audio_channels: 1,
  };
}
