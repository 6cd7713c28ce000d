//! Piton's server, with the fixtures beside what it offers itself.

use std::time::Duration;

use piton_server::Handler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, CompleteRequestParams, CompleteResult,
    ContentBlock, CreateMessageRequest, ElicitRequest, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParam, PaginatedRequestParams,
    ProgressNotificationParam, PromptMessage, ReadResourceRequestParams, ReadResourceResponse, Role, ServerConfig,
    ServerNotification, ServerRequest, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};

use crate::asking::{CAPABILITIES, Next, model, next, person};
use crate::fixtures::{self, WATCHED, read};

/// Between two signs that a tool is at work.
const PAUSE: Duration = Duration::from_millis(50);

/// The server.
pub struct Served {
    piton: Handler,
}

type Context = RequestContext<RoleServer>;

impl Served {
    /// The fixtures beside a server.
    pub fn new(piton: Handler) -> Served {
        Served { piton }
    }
}

fn all<T: serde::de::DeserializeOwned>(values: Vec<Value>) -> Result<Vec<T>, ErrorData> {
    values.into_iter().map(read).collect()
}

fn tools() -> Vec<Tool> {
    fixtures::tools().into_iter().filter_map(|tool| read(tool).ok()).collect()
}

fn words(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text.into())]).into()
}

/// Reports three times that a tool is at work, where the client wants to hear it.
async fn progress(context: &Context) -> Result<CallToolResponse, ErrorData> {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, done).with_total(100.0);
            context.peer.notify_progress(told).await.map_err(internal)?;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(words("done"))
}

/// Logs three times, where clients have not asked to be spared.
async fn log(context: &Context) -> Result<CallToolResponse, ErrorData> {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, text.into());
        let told = LoggingMessageNotification::new(told);
        context.peer.send_notification(ServerNotification::LoggingMessageNotification(told)).await.map_err(internal)?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(words("done"))
}

/// Asks a client of an older revision.
async fn ask(context: &Context, request: ServerRequest) -> Result<CallToolResponse, ErrorData> {
    let said = match context.peer.send_request(request).await.map_err(internal)? {
        ClientResult::CreateMessageResult(result) => format!("LLM response: {}", json!(result)),
        ClientResult::ElicitResult(result) => {
            format!("Elicitation completed: action={}, content={}", json!(result.action), json!(result.content))
        }
        other => return Err(internal(format!("that is no answer: {other:?}"))),
    };
    Ok(words(said))
}

fn asked_person(message: &str, properties: &Value, required: Value) -> Result<ServerRequest, ErrorData> {
    let mut request = person(message, "x", "string");
    request["params"]["requestedSchema"] = json!({ "type": "object", "properties": properties, "required": required });
    read::<ElicitRequest>(request).map(ServerRequest::ElicitRequest)
}

fn with_defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    })
}

fn with_choices() -> Value {
    let plain = json!(["option1", "option2", "option3"]);
    let titled = json!([
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" },
    ]);
    let names = json!(["Option One", "Option Two", "Option Three"]);
    json!({
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    })
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Refuses to do what needs the client's model, where the client has none.
fn without_model() -> ErrorData {
    let needed = json!({ "requiredCapabilities": { "sampling": {} } });
    ErrorData::new(ErrorCode(-32021), "this needs sampling", Some(needed))
}

fn capabilities(context: &Context) -> Result<CallToolResponse, ErrorData> {
    let known = json!(context.meta);
    let known = &known["io.modelcontextprotocol/clientCapabilities"];
    let mut asked = serde_json::Map::new();
    if known.get("elicitation").is_some() {
        asked.insert("name".to_owned(), person("What is your name?", "name", "string"));
    }
    if known.get("sampling").is_some() {
        asked.insert("greeting".to_owned(), model("Generate a greeting"));
    }
    Ok(rmcp::model::InputRequiredResult::from_input_requests(read(Value::Object(asked))?).into())
}

impl ServerHandler for Served {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.piton.get_info();
        info.capabilities.logging = Some(serde_json::Map::new());
        info
    }

    async fn list_tools(&self, page: Option<PaginatedRequestParams>, c: Context) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.piton.list_tools(page, c).await?;
        listed.tools.extend(tools());
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.piton.get_tool(name).or_else(|| tools().into_iter().find(|tool| tool.name == name))
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let name = call.name.as_ref();
        if let Some(next) = next(name, call.input_responses.as_ref(), call.request_state.as_deref()) {
            return Ok(match next? {
                Next::Ask(asked) => asked.into(),
                Next::Done(text) => words(text),
            });
        }
        if let Some(result) = fixtures::result(name) {
            return read::<CallToolResult>(result).map(Into::into);
        }
        let arguments = json!(call.arguments);
        match name {
            "test_tool_with_progress" | "test_streaming_elicitation" => progress(&context).await,
            "test_tool_with_logging" => log(&context).await,
            // Nobody asked for a log.
            "test_logging_tool" => Ok(words("done")),
            "test_missing_capability" => Err(without_model()),
            CAPABILITIES => capabilities(&context),
            "test_sampling" => {
                let request: CreateMessageRequest = read(model(arguments["prompt"].as_str().unwrap_or_default()))?;
                ask(&context, ServerRequest::CreateMessageRequest(request)).await
            }
            "test_elicitation" => {
                let properties = json!({ "username": { "type": "string" }, "email": { "type": "string" } });
                let message = arguments["message"].as_str().unwrap_or_default();
                ask(&context, asked_person(message, &properties, json!(["username", "email"]))?).await
            }
            "test_elicitation_sep1034_defaults" => {
                ask(&context, asked_person("Who are you?", &with_defaults(), json!([]))?).await
            }
            "test_elicitation_sep1330_enums" => {
                ask(&context, asked_person("Which?", &with_choices(), json!([]))?).await
            }
            _ => self.piton.call_tool(call, context).await,
        }
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut listed = self.piton.list_resources(page, context).await?;
        listed.resources.extend(all(fixtures::resources())?);
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut listed = self.piton.list_resource_templates(page, context).await?;
        listed.resource_templates.push(read(fixtures::template())?);
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match fixtures::content(&request.uri) {
            Some(content) => read::<rmcp::model::ReadResourceResult>(content).map(Into::into),
            None => self.piton.read_resource(request, context).await,
        }
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        match request.uri.as_str() {
            WATCHED => Ok(()),
            _ => self.piton.subscribe(request, context).await,
        }
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        self.piton.unsubscribe(request, context).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.piton.accepted_subscription_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.piton.listen(context).await
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut listed = self.piton.list_prompts(page, context).await?;
        listed.prompts.extend(all(fixtures::prompts())?);
        Ok(listed)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        if let Some(next) = next(&request.name, request.input_responses.as_ref(), request.request_state.as_deref()) {
            return Ok(match next? {
                Next::Ask(asked) => asked.into(),
                Next::Done(text) => GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into(),
            });
        }
        match fixtures::prompt(&request.name, &json!(request.arguments)) {
            Some(prompt) => read::<GetPromptResult>(prompt).map(Into::into),
            None => self.piton.get_prompt(request, context).await,
        }
    }

    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        self.piton.complete(request, context).await
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
}
