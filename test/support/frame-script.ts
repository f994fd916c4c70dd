/** The test's side of scripted-transcoder: frames that say what becomes of them. */
import type { SourceFrame } from '../../src/model/media/picture.ts';

export interface FrameScript {
  /** What the work is said to have taken. */
  readonly workMs?: number;
  /** Until the test's gate orders what becomes of it. */
  readonly isHeld?: boolean;
}

/** While it is set in the environment, scripted threads say that there is no engine. */
export const noEngineVariable = 'TEST_NO_ENGINE';

export function scriptedFrame(script: FrameScript): SourceFrame {
  const payload = new TextEncoder().encode(JSON.stringify(script));
  return { format: 'h264', isKeyFrame: true, width: 640, height: 480, payload };
}
