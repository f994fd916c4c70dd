/**
 * Modules that run as a thread or a process, located relative to the calling module: TypeScript in a checkout, JavaScript in a
 * build. Node 20 does not pass tsx on to threads, so a checkout's thread starts with a line of script that registers it.
 */
import { Worker, type ResourceLimits } from 'node:worker_threads';

/** `path`: relative to the caller, without extension. `caller`: its `import.meta.url`, which decides the extension. */
export function moduleBeside(path: string, caller: string): URL {
  return new URL(`${path}${caller.slice(caller.lastIndexOf('.'))}`, caller);
}

/** `name` and `caller`: as for `moduleBeside`. */
export function startModuleWorker(
  name: string,
  caller: string,
  workerData: unknown,
  resourceLimits: ResourceLimits = {},
): Worker {
  const module = moduleBeside(name, caller);
  if (!module.pathname.endsWith('.ts')) return new Worker(module, { workerData, resourceLimits });
  return new Worker(checkoutScript(module.href, import.meta.resolve('tsx/esm/api')), {
    eval: true,
    workerData,
    resourceLimits,
  });
}

/** Resolves when the thread has exited and its messages are delivered; rejects when it failed. */
export function runModuleWorker(
  name: string,
  caller: string,
  workerData: unknown,
  onMessage: (message: never) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = startModuleWorker(name, caller, workerData);
    worker.on('message', (message: unknown) => onMessage(message as never));
    worker.on('error', reject);
    worker.on('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`the thread ended with ${code}`));
    });
  });
}

function checkoutScript(module: string, tsx: string): string {
  return `import(${JSON.stringify(tsx)}).then(({ register }) => {
    register();
    return import(${JSON.stringify(module)});
  });`;
}
