/** `application/json`, any case, alone or with a charset of utf-8. Source: decisions.md, HTTP. */
const json = /^application\/json[ \t]*(;[ \t]*charset[ \t]*=[ \t]*("utf-8"|utf-8)[ \t]*;?[ \t]*)?$/i;

export function isJsonContentType(value: string | undefined): boolean {
  return value !== undefined && json.test(value);
}
