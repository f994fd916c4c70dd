/**
 * A thread that runs a module beside the calling one: TypeScript in a checkout, JavaScript in a build. Node 20
 * does not hand tsx on to the modules of a thread, so a checkout's thread starts with a line of script that
 * registers it for itself.
 */
import { Worker } from 'node:worker_threads';

/** `name`: the module's file name without extension; `caller`: the caller's import.meta.url. */
export function startModuleWorker(name: string, caller: string, workerData: unknown): Worker {
  const extension = caller.slice(caller.lastIndexOf('.'));
  const module = new URL(`./${name}${extension}`, caller);
  if (extension !== '.ts') return new Worker(module, { workerData });
  return new Worker(checkoutScript(module.href, import.meta.resolve('tsx/esm/api')), {
    eval: true,
    workerData,
  });
}

function checkoutScript(module: string, tsx: string): string {
  return `import(${JSON.stringify(tsx)}).then(({ register }) => {
    register();
    return import(${JSON.stringify(module)});
  });`;
}
