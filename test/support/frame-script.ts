/** The test's side of scripted-transcoder: frames that script their own outcome. */
import type { SourceFrame } from '../../src/model/media/picture.ts';

export interface FrameScript {
  readonly workMs?: number;
  /** True: pending until the test's gate orders an outcome. */
  readonly isHeld?: boolean;
}

/** While this environment variable is set, scripted threads report that there is no engine. */
export const noEngineVariable = 'TEST_NO_ENGINE';

export function scriptedFrame(script: FrameScript): SourceFrame {
  const payload = new TextEncoder().encode(JSON.stringify(script));
  return { format: 'h264', isKeyFrame: true, width: 640, height: 480, payload };
}
