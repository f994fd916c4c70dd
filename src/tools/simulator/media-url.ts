/** Where the legs of calls connect, as a URL. */
import { formatListenAddress, parseListenAddress } from '../../server/config/settings-values.ts';
import { readRuntimeFile } from '../../server/bootstrap/runtime-file.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { CommandError, usageError } from '../../cli/shell/command-error.ts';
import { reachableAddress } from '../../cli/admin/running-server.ts';

/**
 * `media`: the listener that was named, `host:port` or a URL beginning with `ws://` or `wss://`; undefined: that of the
 * running server, else as the settings have it. Throws a CommandError.
 */
export function findMediaUrl(context: CommandContext, media: string | undefined): string {
  if (media !== undefined) return parseMediaUrl(media);
  const { listen, tls_cert_file: certificate } = context.settings.media;
  const running = readRuntimeFile(context.dataDirectory);
  const listener = running === null ? formatListenAddress(listen) : running.listeners['media'];
  if (listener === undefined)
    throw new CommandError(
      'the running server does not say where its media listener is',
      'name it with --media host:port',
    );
  return mediaUrl(certificate === null ? 'ws' : 'wss', listener);
}

/** `listener`: `host:port`, as it listens. */
export function mediaUrl(scheme: 'ws' | 'wss', listener: string): string {
  return `${scheme}://${reachableAddress(listener)}`;
}

function parseMediaUrl(text: string): string {
  if (/^wss?:\/\/[^/?#]+\/?$/.test(text) && URL.canParse(text)) return text;
  const address = parseListenAddress(text);
  if (address === null || address.port === 0)
    throw usageError(`--media ${text}: expected host:port, ws://host:port or wss://host:port`);
  return `ws://${text}`;
}
