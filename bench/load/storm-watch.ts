/** Looks how many of a crowd are there, until all are. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from './peer-protocol.ts';
import type { FailureReason, ReturnReading } from './storm-protocol.ts';

const lookMs = 20;

export interface Crowd {
  readonly size: number;
  readonly present: number;
  /** Attempts since the beginning that failed. */
  readonly failed: number;
  readonly reasons: readonly FailureReason[];
}

/** `failedBefore`: they are not counted. */
export async function watchReturn(
  crowd: Crowd,
  secondsMax: number,
  failedBefore: number,
): Promise<ReturnReading> {
  const endMs = monotonicMs() + secondsMax * 1000;
  let halfMs: number | null = null;
  for (;;) {
    const nowMs = monotonicMs();
    const { present, size } = crowd;
    if (present >= size / 2) halfMs ??= nowMs;
    if (present >= size || nowMs > endMs) {
      const { failed, reasons } = crowd;
      return { halfMs: halfMs ?? nowMs, allMs: nowMs, failed: failed - failedBefore, present, reasons };
    }
    await sleep(lookMs);
  }
}

export async function untilNone(crowd: Crowd): Promise<void> {
  while (crowd.present > 0) await sleep(lookMs);
}
