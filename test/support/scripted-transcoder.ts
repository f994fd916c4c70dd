/**
 * The task file of transcoding threads whose frames script their outcome: the reported processing time, and whether the frame
 * waits until the test's gate orders `go`, `throw` or `die`. Its pictures have the size of the frame and contain
 * `session.frames`, counted since the thread began; its rebuild count is the number of event loop turns after frames. One frame
 * at a time, as with native code.
 */
import { BroadcastChannel, type MessagePort } from 'node:worker_threads';
import { fail, succeed, type Result } from '../../src/lib/result.ts';
import type { NativeCensus } from '../../src/media/codec/native-census.ts';
import type { FrameResult } from '../../src/model/media/picture.ts';
import type { SoundResult } from '../../src/model/media/sound.ts';
import { serveTasks } from '../../src/media/transcoding/task-port.ts';
import type { EngineDescription, FrameTask, SoundTask } from '../../src/media/transcoding/transcoder-task.ts';
import { noEngineVariable, type FrameScript } from './frame-script.ts';
import { gateFailsVariable, gateOrders, gateReports } from './gate.ts';
import type { GateOrder } from './gate.ts';

if (process.env[gateFailsVariable] !== undefined) throw new Error('this worker cannot be loaded');

const framesBySession = new Map<number, number>();
const reports = new BroadcastChannel(gateReports);
let loopTurns = 0;

function orderOfTest(): Promise<GateOrder> {
  return new Promise((resolve) => {
    const orders = new BroadcastChannel(gateOrders);
    orders.onmessage = ({ data }: { data: GateOrder }) => {
      orders.close();
      resolve(data);
    };
    reports.postMessage('held');
  });
}

export function serve(port: MessagePort): void {
  serveTasks({ startEngine, transcodeFrame, transcodeSound, closeSession, closeAll, countNatives }, port);
}

async function startEngine(): Promise<Result<EngineDescription, string>> {
  return process.env[noEngineVariable] === undefined
    ? succeed({ version: 'scripted', soundEncoders: ['alaw', 'opus'] })
    : fail('there is no engine here');
}

async function transcodeFrame({ session, frame }: FrameTask): Promise<FrameResult> {
  const script: FrameScript = JSON.parse(new TextDecoder().decode(frame.payload));
  const frames = (framesBySession.get(session) ?? 0) + 1;
  framesBySession.set(session, frames);
  setImmediate(() => {
    loopTurns += 1;
  });
  const order = script.isHeld === true ? await orderOfTest() : 'go';
  if (order === 'die') process.exit(1);
  if (order === 'throw') throw new Error('this worker was ordered to throw');
  const size = { width: frame.width, height: frame.height };
  const bytes = new TextEncoder().encode(`${session}.${frames}`);
  return {
    source: size,
    pictures: [{ format: 'mjpeg', isKey: true, size, bytes }],
    drop: null,
    keyFrameWanted: false,
    rebuilds: loopTurns,
    workMs: script.workMs ?? 0,
  };
}

async function transcodeSound({ session, packet, targets }: SoundTask): Promise<SoundResult> {
  const script: FrameScript = JSON.parse(new TextDecoder().decode(packet.payload));
  const packets = (framesBySession.get(session) ?? 0) + 1;
  framesBySession.set(session, packets);
  if (script.isHeld === true && (await orderOfTest()) === 'die') process.exit(1);
  const made = {
    timestampMs: packet.timestampMs,
    payload: new TextEncoder().encode(`${session}.${packets}`),
  };
  return { packets: targets.map(() => [made]), drop: null, rebuilds: 0, workMs: script.workMs ?? 0 };
}

async function closeSession(session: number): Promise<void> {
  framesBySession.delete(session);
}

async function closeAll(): Promise<void> {
  framesBySession.clear();
}

async function countNatives(): Promise<NativeCensus> {
  return {
    packets: framesBySession.size,
    frames: 0,
    codecContexts: 0,
    graphs: 0,
    resamplers: 0,
    inputs: 0,
  };
}
