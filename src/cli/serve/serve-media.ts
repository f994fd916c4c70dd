/** `reveille serve --only media`: the media process of a server on another machine. Source: running.md, Processes and listeners. */
import { readLinkKey } from '../../server/bootstrap/media-gate.ts';
import { openLog } from '../../server/bootstrap/logging.ts';
import { mediaProcessSettings } from '../../server/config/gateway-settings.ts';
import { formatListenAddress } from '../../server/config/settings-values.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { usageError } from '../shell/command-error.ts';
import { dieOfTheUnexpected, refuseStart, stopSignal } from './serving-end.ts';

export async function serveMedia({ settings, clock }: CommandContext): Promise<void> {
  const { link_server: server, link_key_file: keyFile } = settings.media;
  if (server === null || keyFile === null)
    throw usageError(
      'serve --only media needs media.link_server, where its server waits, and media.link_key_file',
    );
  const logging = openLog(settings.log.level);
  const { log } = logging;
  dieOfTheUnexpected(logging);
  const die = (sentence: string): void => {
    log.error({}, sentence);
    logging.flushNow();
    process.kill(process.pid, 'SIGKILL');
  };
  const stopping = stopSignal();
  const { RemoteMedia } = await import('../../media/process/remote-media.ts');
  const { TranscoderPool } = await import('../../media/transcoding/transcoder-pool.ts');
  const key = await readLinkKey(keyFile).catch(refuseStart);
  const media = new RemoteMedia(mediaProcessSettings(settings), {
    clock,
    log,
    server,
    key,
    openTranscoders: (workers) => TranscoderPool.open({ ...workers, clock, log, onWedged: die }),
    onListening: (address) =>
      logging.announce({ listeners: { media: formatListenAddress(address) } }, 'ready'),
  });
  void stopping.then((signal) => {
    log.info({ signal }, 'stopping');
    media.stop();
  });
  process.on('SIGHUP', () => media.reloadTls());
  await media.run().catch(refuseStart);
  log.info({}, 'stopped');
  await logging.close();
  process.exit(0);
}
