/** Runs the launcher until it is told to stop. Its environment: README.md, and said when it is wrong. */
import { fileURLToPath } from 'node:url';
import { Launcher } from './launcher.ts';

const usage = `Environment:
  BRIDGE_KEY            the key of the bridges          (reveille bridge add bridge-1 --app APP)
  BRIDGE_URL            the media listener              ws://127.0.0.1:8083
  BRIDGE_SOURCE         a module that joins phones      test-source.ts, a picture without a phone
  BRIDGE_IDLE           bridges that wait for a call    2
  BRIDGE_PROCESSES_MAX  bridges in all                  20`;

function exitWithUsage(problem: string): never {
  process.stderr.write(`${problem}\n\n${usage}\n`);
  process.exit(2);
}

function whole(name: string, otherwise: number): number {
  const text = process.env[name] ?? String(otherwise);
  return /^[1-9]\d{0,3}$/.test(text)
    ? Number(text)
    : exitWithUsage(`${name} must be a whole number from 1 to 9999.`);
}

const log = (step: string, fields: object = {}): void => {
  process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), step, ...fields })}\n`);
};

const { BRIDGE_URL = 'ws://127.0.0.1:8083', BRIDGE_KEY = '', BRIDGE_SOURCE } = process.env;
if (BRIDGE_KEY === '') exitWithUsage('BRIDGE_KEY is missing.');
if (!/^wss?:\/\//.test(BRIDGE_URL)) exitWithUsage('BRIDGE_URL must be like ws://127.0.0.1:8083.');

const launcher = new Launcher({
  url: BRIDGE_URL,
  key: BRIDGE_KEY,
  source: BRIDGE_SOURCE ?? fileURLToPath(import.meta.resolve('./test-source.ts')),
  idle: whole('BRIDGE_IDLE', 2),
  processesMax: whole('BRIDGE_PROCESSES_MAX', 20),
  log,
});
const stop = (): void => {
  process.off('SIGTERM', stop).off('SIGINT', stop);
  void launcher.stop().then(() => log('launcher.stopped'));
};
process.on('SIGTERM', stop).on('SIGINT', stop);
launcher.start();
launcher.failed.catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
  stop();
});
