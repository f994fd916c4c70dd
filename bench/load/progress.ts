/** What a figure that takes minutes does now, and how far it is: on standard error, since standard output has the figures. */
import { performance } from 'node:perf_hooks';

const everyMs = 5000;

export function tellProgress(text: string): void {
  const seconds = Math.round(performance.now() / 1000);
  console.error(`${String(seconds).padStart(5)} s  ${text}`);
}

/** Tells now and again how far it is, until `work` is done. */
export async function tellUntil<Result>(
  work: Promise<Result>,
  howFar: () => Promise<string>,
): Promise<Result> {
  const timer = setInterval(() => void howFar().then(tellProgress, () => undefined), everyMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
