/** Runs the example backend until it is told to stop. How to configure it is in README.md, and said when it is wrong. */
import { startBackend } from './backend.ts';
import { readSettings, UsageError } from './settings.ts';
import { writeStep } from './step-log.ts';

try {
  const backend = await startBackend(readSettings(process.env));
  writeStep('backend.started', { port: backend.port });
  let isStopping = false;
  const stop = (): void => {
    // Whoever asks twice does not want to wait.
    if (isStopping) process.exit(1);
    isStopping = true;
    void backend.stop().then(() => writeStep('backend.stopped'));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
