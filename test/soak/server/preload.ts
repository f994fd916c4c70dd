/** The probe, as a module that every process of a server loads first. */
import { moduleBeside } from '../../../src/lib/module-worker.ts';
import type { LeakKind } from './plan.ts';

export interface Probed {
  /** The file of samples. */
  readonly file: string;
  readonly sampleSeconds: number;
  /** The garbage is collected before each of so many samples of a process. */
  readonly samplesPerCollection: number;
  readonly leaks: readonly LeakKind[];
}

/** Only a process's main thread: what is preloaded is inherited by worker threads too, which need no probe. */
export function preloadOf({ leaks, ...probed }: Probed): string {
  const probe = moduleBeside('./probe', import.meta.url);
  for (const [name, value] of Object.entries(probed)) probe.searchParams.set(name, String(value));
  for (const kind of leaks) probe.searchParams.append('leak', kind);
  const text =
    "import { isMainThread } from 'node:worker_threads';" +
    `if (isMainThread) await import(${JSON.stringify(probe.href)});`;
  return `data:text/javascript,${encodeURIComponent(text)}`;
}
