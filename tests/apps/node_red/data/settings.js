module.exports = {flowFile: "flows.json", editorTheme: {tours: false}, telemetry: {enabled: false}};
