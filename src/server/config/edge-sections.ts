/**
 * Settings of edges on other machines: `edges` at the core, `edge` at each edge. Source: scale-out.md, Edges; this file chooses the rest.
 */
import { z } from 'zod';
import {
  addressList,
  listenAddress,
  optionalText,
  refuse,
  section,
  setting,
} from '../../model/settings-values.ts';

const gateSettings = section({
  listen: setting(
    listenAddress.nullable(),
    null,
    'Listening address for edges on other machines; needs edges.key_file.',
  ),
  key_file: setting(
    optionalText('the path of a file'),
    null,
    'File with the pre-shared key of the link to edges on other machines, at least 32 bytes.',
  ),
});

/** Edges authenticate by the key, so the port requires it. */
export const edgesSection = gateSettings.superRefine(({ listen, key_file: file }, context) => {
  if (listen !== null && file === null)
    refuse(
      context,
      ['key_file'],
      'a path, since edges.listen is set: edges on other machines are known by the key',
    );
});

const nameForm = /^[\w.-]{1,64}$/;
const nameExpected = 'a name of 1 to 64 letters, digits, dots, - and _, or nothing';

export const edgeSection = section({
  core: setting(listenAddress.nullable(), null, 'For reveille edge: edges.listen of its core.'),
  key_file: setting(
    optionalText('the path of a file'),
    null,
    'For reveille edge: file with the key of edges.key_file at its core.',
  ),
  name: setting(
    z.string(nameExpected).regex(nameForm, nameExpected).nullable(),
    null,
    'For reveille edge: its name, unique among the edges of its core; nothing: the host name.',
  ),
  listen: setting(
    listenAddress,
    '127.0.0.1:8081',
    'For reveille edge: its listening address for low-power modules, in place of sleep.listen.',
  ),
  advertise: setting(
    addressList,
    [],
    'For reveille edge: addresses by which devices reach it, in place of sleep.advertise; empty: the listening address.',
  ),
});
