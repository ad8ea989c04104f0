// Renders the OpenAPI document of this server, without loading anything from other servers.
import { element } from "./element.js";
import { inline, prose } from "./prose.js";
import { tryIt } from "./try.js";

const document_ = await (await fetch("/api/v1/openapi.json")).json();
const schemas = document_.components.schemas;

const code = (value) =>
  element(
    "pre",
    { tabindex: "0" },
    element("code", { text: typeof value === "string" ? value : JSON.stringify(value, null, 2) }),
  );
const nameOf = (reference) => reference.split("/").at(-1);

// Describes a schema in a few words: "string, up to 200 characters", with a link if it has a name.
function typeOf(schema) {
  if (schema.$ref) {
    const name = nameOf(schema.$ref);
    return [element("a", { href: `#shape-${name}`, text: name })];
  }
  if (schema.anyOf) return joined(schema.anyOf.map(typeOf), " or ");
  if (schema.enum) return [`one of ${schema.enum.join(", ")}`];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (schema.prefixItems) return ["list of ", ...joined(schema.prefixItems.map(typeOf), ", ")];
  if (schema.type === "array") return ["list of ", ...typeOf(schema.items), limits(schema)];
  if (schema.additionalProperties?.type || schema.additionalProperties?.$ref) {
    return ["object of ", ...typeOf(schema.additionalProperties)];
  }
  return [[schema.type ?? "anything", schema.format].filter(Boolean).join(", ") + limits(schema)];
}

function joined(lists, separator) {
  return lists.flatMap((list, index) => (index ? [separator, ...list] : list));
}

function limits({ minimum, maximum, maxLength, maxItems }) {
  const range =
    minimum !== undefined || maximum !== undefined
      ? `, ${minimum ?? "…"} to ${maximum ?? "…"}`
      : "";
  return (
    range +
    (maxLength ? `, up to ${maxLength} characters` : "") +
    (maxItems ? `, up to ${maxItems}` : "")
  );
}

function fields(rows) {
  return element(
    "table",
    {},
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...["Name", "Type", "Meaning"].map((text) => element("th", { scope: "col", text })),
      ),
    ),
    element(
      "tbody",
      {},
      ...rows.map(({ name, schema, required, description }) =>
        element(
          "tr",
          {},
          element(
            "th",
            { scope: "row" },
            element("code", { text: name }),
            required ? element("span", { className: "required", text: " required" }) : null,
          ),
          element("td", {}, ...typeOf(schema)),
          element(
            "td",
            {},
            ...inline(
              [description ?? schema.description ?? "", standard(schema)].filter(Boolean).join(" "),
            ),
          ),
        ),
      ),
    ),
  );
}

const standard = (schema) =>
  schema.default === undefined || schema.default === null
    ? ""
    : `Default: ${JSON.stringify(schema.default)}.`;

function shapeRows(schema) {
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    schema: property,
    required: schema.required?.includes(name),
  }));
}

function response(status, answer) {
  const [type, media] = Object.entries(answer.content ?? {})[0] ?? [];
  const example = media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
  return element(
    "details",
    { className: status < 400 ? "answer" : "answer refused" },
    element(
      "summary",
      {},
      element("b", { text: status }),
      " ",
      ...inline(answer.description),
      " ",
      element("span", { className: "quiet", text: type ?? "" }),
    ),
    media?.schema?.$ref ? element("p", {}, "Shape: ", ...typeOf(media.schema)) : null,
    example === undefined ? null : code(example),
  );
}

function operation(path, method, details) {
  const body = details.requestBody?.content["application/json"].schema.$ref;
  const shape = body && schemas[nameOf(body)];
  const title = element(
    "h3",
    { id: details.operationId },
    element("span", { className: `method ${method}`, text: method.toUpperCase() }),
    " ",
    element("code", { text: path }),
  );
  return element(
    "article",
    { "aria-labelledby": details.operationId },
    title,
    ...prose(details.description ?? details.summary),
    details.security ? null : element("p", { className: "open", text: "Open: needs no key." }),
    details.parameters?.length ? fields(details.parameters) : null,
    shape ? element("p", {}, "Body: ", ...typeOf({ $ref: body })) : null,
    shape ? fields(shapeRows(shape)) : null,
    shape?.examples ? code(shape.examples[0]) : null,
    tryIt(path, method, details, shape?.examples?.[0]),
    ...Object.entries(details.responses).map(([status, answer]) => response(status, answer)),
  );
}

const groups = new Map();
for (const [path, methods] of Object.entries(document_.paths)) {
  for (const [method, details] of Object.entries(methods)) {
    const tag = details.tags[0];
    if (!groups.has(tag)) groups.set(tag, []);
    groups.get(tag).push({ path, method, details });
  }
}
for (const [tag, operations] of groups) {
  document
    .getElementById("contents")
    .append(
      element("h2", { text: tag }),
      element(
        "ul",
        {},
        ...operations.map(({ details }) =>
          element(
            "li",
            {},
            element("a", { href: `#${details.operationId}`, text: details.summary }),
          ),
        ),
      ),
    );
  document
    .getElementById("operations")
    .append(
      element("h2", { text: tag }),
      ...operations.map(({ path, method, details }) => operation(path, method, details)),
    );
}
for (const [name, schema] of Object.entries(schemas)) {
  document
    .getElementById("shapes")
    .append(
      element(
        "article",
        {},
        element("h3", { id: `shape-${name}`, text: name }),
        ...prose(schema.description ?? ""),
        fields(shapeRows(schema)),
      ),
    );
}
document.title = `${document_.info.title} API ${document_.info.version}`;
