/** The notice of a first start with nothing configured, on standard error: it has secrets, which no log may have. */
import type { DemoRegistry } from '../../server/config/demo-seed.ts';
import { reveilleCommand } from '../shell/command-error.ts';

export function demoNotice({ credential, devices }: DemoRegistry, dataDirectory: string): string {
  const device = devices[0]?.deviceId ?? 'DEVICE';
  return `
A first start with nothing configured: here is a demo application to play with. Its secrets are shown once.

  application    ${credential.appId}
  access key id  ${credential.accessKeyId}
  secret key     ${credential.secretKey}
${devices.map(({ deviceId, secret }) => `  device         ${deviceId}  secret ${secret}`).join('\n')}

They are kept in ${dataDirectory}. Next, in a second terminal, let the devices live: they sign in, and sleep:
  ${reveilleCommand(`simulate --devices ${devices.length}`)}
and in a third one, wake one of them, and see what happened to it:
  ${reveilleCommand(`wake ${device} --wait`)}
  ${reveilleCommand(`status ${device}`)}

`;
}
