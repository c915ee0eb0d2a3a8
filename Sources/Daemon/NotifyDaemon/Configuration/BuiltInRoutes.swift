/// The default routes, in the syntax of a configuration file. Files of the administrator and the user change them or
/// add others.
enum BuiltInRoutes {
    static let file = "built-in routes"

    static let text = """
        # A post has news: one banner a post, however many comments.
        [[route]]
        topic = "/post/{id}"
        title = "{{#title}}{{title}}{{/title}}{{^title}}New activity on post {{id}}{{/title}}"
        body = "{{body}}"

        # An invitation to run together; nobody wants to hear of it after ten minutes.
        [[route]]
        topic = "/run/{session}/invite"
        title = "{{#title}}{{title}}{{/title}}{{^title}}{{from}} invites you to a run{{/title}}"
        require = { from = "string" }
        ttl = "10m"
        actions = [ { key = "accept", label = "Join" }, { key = "decline", label = "Decline" } ]

        # Your mate finished, perhaps with the distance in metres.
        [[route]]
        topic = "/run/{session}/mate/{mate}/finished"
        title = "{{#title}}{{title}}{{/title}}{{^title}}{{mate}} finished{{/title}}"
        body = "{{#body}}{{body}}{{/body}}{{^body}}{{#distance}}{{distance}} m{{/distance}}{{/body}}"

        # How far a mate has come: the current value, never a banner.
        [[route]]
        topic = "/run/{session}/mate/{mate}"
        banner = false
        retain = true

        # The run was called off.
        [[route]]
        topic = "/run/{session}/cancelled"
        title = "{{#title}}{{title}}{{/title}}{{^title}}The run was called off{{/title}}"

        # What a schedule with a digest held back; notifyd publishes it when the schedule ends. With a terminal in [banner] it has
        # the button "Open inbox".
        [[route]]
        topic = "/notifyd/digest"

        # What screens of routes with "rescue" claimed while the user was away; notifyd publishes it when the user is back.
        [[route]]
        topic = "/notifyd/away"
        """
}
