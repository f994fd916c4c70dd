/**
 * The Content-Type of a request, on every listener: a media type, then parameters, case-insensitive. Blanks around `=` and empty
 * parameters are accepted. Source: RFC 9110, 5.6.6 and 8.3.1; decisions.md, HTTP.
 */

/** A longer one is refused unread, like a wrong one. */
export const contentTypeCharactersMax = 256;

const typeForm = /([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+)[ \t]*/y;
const parameterForm =
  /;[ \t]*(?:([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*([\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*")[ \t]*)?/y;

/** `type`: in lower case. True for `type` with any parameters, except a `charset` other than UTF-8. */
export function isContentType(value: string | undefined, type: string): boolean {
  if (value === undefined || value.length > contentTypeCharactersMax) return false;
  typeForm.lastIndex = 0;
  if (typeForm.exec(value)?.[1]?.toLowerCase() !== type) return false;
  parameterForm.lastIndex = typeForm.lastIndex;
  while (parameterForm.lastIndex < value.length) {
    const parameter = parameterForm.exec(value);
    if (parameter === null) return false;
    const [, name = '', text = ''] = parameter;
    if (name.toLowerCase() === 'charset' && !utf8Names.has(text.toLowerCase())) return false;
  }
  return true;
}

const utf8Names: ReadonlySet<string> = new Set(['utf-8', '"utf-8"', 'utf8', '"utf8"']);
