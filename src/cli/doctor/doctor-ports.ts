/** The doctor's checks of the listeners: each port is free, or our own running server has it. */
import { createServer } from 'node:net';
import type { Settings } from '../../server/config/settings-schema.ts';
import { formatListenAddress, type ListenAddress } from '../../server/config/settings-values.ts';
import { readRuntimeFile } from '../../server/bootstrap/runtime-file.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { failing, ok, type Finding } from './doctor-finding.ts';

const listenerNames = [
  'api',
  'sleep',
  'signal',
  'media',
  'ops',
] as const satisfies readonly (keyof Settings)[];

export async function checkPorts({ settings, dataDirectory }: CommandContext): Promise<Finding[]> {
  const running = readRuntimeFile(dataDirectory);
  if (running !== null)
    return listenerNames.map((name) =>
      ok(
        `${name} listener`,
        `${running.listeners[name]}, held by our running server (process ${running.pid})`,
      ),
    );
  return Promise.all(listenerNames.map((name) => checkPort(name, settings[name].listen)));
}

async function checkPort(name: string, address: ListenAddress): Promise<Finding> {
  const check = `${name} listener`;
  const text = formatListenAddress(address);
  const refusal = await tryToListen(address);
  if (refusal === null)
    return ok(check, address.port === 0 ? `${text}: a free port is picked` : `${text} is free`);
  const reason = reasons[refusal] ?? refusal;
  return failing(
    check,
    `${text} ${reason}`,
    `stop what has it, or set ${name}.listen (REVEILLE_${name.toUpperCase()}_LISTEN)`,
  );
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another process',
  EADDRNOTAVAIL: 'is no address of this machine',
  EACCES: 'may not be listened on by this user',
  ENOTFOUND: 'has a name that nobody knows',
};

/** Null: it can be listened on; otherwise the error's code. */
function tryToListen({ host, port }: ListenAddress): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
