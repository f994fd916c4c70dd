/** Plays bridges and devices of calls on the load's core, and measures the latency of their pictures with one clock. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReveilleClient } from '../../src/client/reveille-client.ts';
import { LegRefused } from '../../src/tools/simulator/media-leg.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import { readFrames } from '../../test/pictures/sources.ts';
import { answerQuestions } from '../harness/ipc.ts';
import { LatencyRecorder, type LatencyReading } from '../harness/latency.ts';
import { Pace } from '../load/pace.ts';
import { backendCredential, deviceIdOf } from '../load/population.ts';
import type { ClipFile } from './natural-clips.ts';
import { framesPerSecond, PlayedCall } from './played-call.ts';

export interface LegsReading {
  readonly frames: number;
  readonly missing: number;
  /** From sending a frame on the bridge leg to its picture on the device leg. */
  readonly latency: LatencyReading;
}

export type LegsProtocol = {
  /** Loads the frames of all calls; returns their number. */
  load: { take: ClipFile; give: number };
  /** Adds this many calls, or fewer if the media process is full. Returns the sessions of all calls. */
  connect: {
    take: { httpPort: number; mediaPort: number; calls: number; hasSound: boolean };
    give: readonly string[];
  };
  /** All calls send for this many seconds, with evenly spread frames. */
  play: { take: number; give: LegsReading };
};

const lastPicturesMsMax = 1000;
const lookMs = 20;

let frames: readonly Buffer[] = [];
const calls: PlayedCall[] = [];

async function begin(client: ReveilleClient, mediaPort: number, hasSound: boolean): Promise<boolean> {
  const deviceId = deviceIdOf(calls.length);
  const issued = await client.issueCallCredentials({
    device_id: deviceId,
    msg_session_key: 'a session key',
    msg_room_id: `room of ${deviceId}`,
    msg_session_token: 'a server token',
    msg_app_id: 'wx0123456789abcdef',
    msg_model_id: 'model_1',
    down_video_mt: 'mjpeg',
    screen_width: 320,
    screen_height: 240,
    video_res_mode: 'fit_screen',
    audio_rate: 8000,
    audio_channels: 1,
  });
  if (!issued.ok) throw new Error(`no credentials: ${issued.code} ${issued.message}`);
  try {
    calls.push(await PlayedCall.connect(`ws://127.0.0.1:${mediaPort}`, issued.data, frames, hasSound));
    return true;
  } catch (error) {
    if (error instanceof LegRefused && error.status === 503) return false;
    throw error;
  }
}

answerQuestions<LegsProtocol>({
  load: (file) => {
    frames = readFrames(file.path, file).map(({ payload, ...header }) =>
      Buffer.concat([encodeFrameHeader({ kind: 'video', ...header, timestampMs: 0 }), payload]),
    );
    return frames.length;
  },
  connect: async ({ httpPort, mediaPort, calls: count, hasSound }) => {
    const origin = `http://127.0.0.1:${httpPort}`;
    const client = new ReveilleClient({ origin, credential: backendCredential });
    for (let left = count; left > 0 && (await begin(client, mediaPort, hasSound)); left -= 1);
    client.close();
    return calls.map(({ session }) => session);
  },
  play: async (seconds) => {
    const latencies = new LatencyRecorder();
    for (const call of calls) call.latencies = latencies;
    let sent = 0;
    const pace = new Pace(framesPerSecond * calls.length, () => {
      calls[sent % calls.length]?.sendNext();
      sent += 1;
    });
    await sleep(seconds * 1000);
    pace.stop();
    for (let waitedMs = 0; latencies.count < sent && waitedMs < lastPicturesMsMax; waitedMs += lookMs)
      await sleep(lookMs);
    return { frames: sent, missing: sent - latencies.count, latency: latencies.read() };
  },
});
