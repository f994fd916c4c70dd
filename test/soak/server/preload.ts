/** The probe as a preloaded module of every server process. */
import { moduleBeside } from '../../../src/lib/module-worker.ts';
import type { LeakKind } from './plan.ts';

export interface Probed {
  readonly file: string;
  readonly sampleSeconds: number;
  readonly samplesPerCollection: number;
  readonly leaks: readonly LeakKind[];
}

/** Runs only in main threads: worker threads inherit preloaded modules, but need no probe. */
export function preloadOf({ leaks, ...probed }: Probed): string {
  const probe = moduleBeside('./probe', import.meta.url);
  for (const [name, value] of Object.entries(probed)) probe.searchParams.set(name, String(value));
  for (const kind of leaks) probe.searchParams.append('leak', kind);
  const text =
    "import { isMainThread } from 'node:worker_threads';" +
    `if (isMainThread) await import(${JSON.stringify(probe.href)});`;
  return `data:text/javascript,${encodeURIComponent(text)}`;
}
